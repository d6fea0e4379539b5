-- Every live run that carries my name: one that is not loaded here was claimed
-- by a statement whose answer was lost.
select id, agent, agent_version from reeve_store.runs
where owner = $1::uuid and live

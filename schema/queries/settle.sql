-- Where the runs of a batch stand whose outcome is unknown.
select id, owner, claim, step from reeve_store.runs where id = any($1::uuid[])

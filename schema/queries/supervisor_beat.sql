-- I am alive. No row: somebody deposed me.
update reeve_store.supervisors set beat = beat + 1 where id = $1::uuid
returning beat

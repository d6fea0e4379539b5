-- Runs, newest first, as JSON.
select json_build_object('runs', coalesce(json_agg(to_json(r) order by r.id desc), '[]'))
from (
    select v.* from reeve.runs v
    where ($1::text is null or v.state = $1::text)
        and ($2::text is null or v.agent = $2::text)
        and ($3::text is null or v.session = $3::text)
        and ($4::uuid is null or v.id < $4::uuid)
    order by v.id desc limit $5::int4
) r

select turn, category, idx, step, type, item,
    (extract(epoch from at) * 1000)::int8
from reeve_store.items
where run = $1::uuid and step > $2::int4
order by step, turn, category, idx

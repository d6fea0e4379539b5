-- The same function that applications call; the id was chosen by the client.
select run, existing from reeve_store.submit($1::uuid, $2::text, $3::json,
    $4::text, $5::text, $6::int4,
    case when $7::int8 > 0 then to_timestamp($7::int8 / 1000.0)
        when $8::int8 > 0 then now() + $8::int8 * interval '1 ms' end,
    $9::json)

select reeve.cancel($1::uuid, $2::text)

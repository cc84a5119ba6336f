-- Looks up a URI by its fingerprint; changes nothing.
-- ARGV: key, fingerprint, registered domain.
-- Returns {1 if it is in the seen set, 1 if it is over a budget and kept, 1 if it waits
-- for an epoch}.
local key, fingerprint, domain = ARGV[1], ARGV[2], ARGV[3]
open_seen()
return {
  call('SISMEMBER', bucket_of(fingerprint), fingerprint),
  call('HEXISTS', T .. ':over', key .. ' ' .. fingerprint),
  call('HEXISTS', T .. ':ew:' .. domain, fingerprint),
}

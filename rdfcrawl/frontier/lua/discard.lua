-- Takes URIs that were given up off a list, for good. ARGV: which list ('dead' or
-- 'failed'), most URIs. Those that are dead are only marked as seen from now on; those
-- whose hosts failed are done in any case. Returns how many there were.
local name = ARGV[1]
local n = #(redis.call('LPOP', T .. ':' .. name, ARGV[2]) or {})
if name == 'dead' then
  count('dead', -n)
  count('known', n)
end
return n

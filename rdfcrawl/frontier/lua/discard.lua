-- Discards URIs that were given up.
-- ARGV: list ('dead', 'failed' or 'unlikely'), most URIs. Dead ones are only marked as
-- seen from now on; others are already done.
-- Returns their number.
local name = ARGV[1]
local entries = redis.call('LPOP', T .. ':' .. name, ARGV[2]) or {}
local n, n_owed = #entries, 0
for _, entry in ipairs(entries) do
  if string.sub(entry, 1, 1) == OWED then n_owed = n_owed + 1 end
end
count('owed', -n_owed)
if name == 'unlikely' then count('un', -n) end
if name == 'dead' then
  count('dead', -n)
  count('known', n)
end
return n

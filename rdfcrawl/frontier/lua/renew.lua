-- Prolongs leases. ARGV: lease ms, then epoch:key per lease.
-- Returns one character per lease: 1 prolonged, 0 lost.
local expiry = now_ms() + tonumber(ARGV[1])
local results = {}
for i = 2, #ARGV do
  -- Remove before adding: see `prelude.lua` on full memory.
  if redis.call('ZREM', T .. ':lease', ARGV[i]) == 1 then
    redis.call('ZADD', T .. ':lease', expiry, ARGV[i])
    results[#results + 1] = '1'
  else
    results[#results + 1] = '0'
  end
end
return table.concat(results)

-- Finds hosts that refuse or have only deferred URIs, and whether all remaining work
-- waits for them.
-- ARGV: ms from now on for which the crawl would wait.
-- Returns {hosts and leases of others, hosts that refuse, those of them that are due
-- within that time or leased}.
local until_ms = now_ms() + tonumber(ARGV[1])
local down = T .. ':down'

local n_down_ready, n_due = redis.call('ZCARD', down), 0
local n_down = n_down_ready
local n_others = redis.call('ZCARD', T .. ':ready')
n_others = n_others + tonumber(redis.call('HGET', T .. ':cnt', 'cw') or 0)
n_others = n_others + redis.call('SCARD', T .. ':paused')
n_others = n_others + tonumber(redis.call('HGET', T .. ':cnt', 'w') or 0)
for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
  local epoch, key = string.match(member, '^(%d+):(.*)$')
  if not redis.call('ZSCORE', down, key) then
    n_others = n_others + 1
  elseif redis.call('HGET', host_of(key), 'lk') == epoch then
    n_down_ready, n_due = n_down_ready - 1, n_due + 1
  else
    n_others = n_others + 1 -- fetched but not committed
  end
end
n_others = n_others - n_down_ready
if n_others > 0 then return {n_others, n_down, n_due} end

for _, key in ipairs(redis.call('ZRANGE', down, 0, -1)) do
  local crowd = crowd_of(key, redis.call('HGET', host_of(key), 'g'))
  local due = redis.call('ZSCORE', crowd and waiting_of(crowd) or T .. ':ready', key)
  if due and tonumber(due) <= until_ms then n_due = n_due + 1 end
end
return {n_others, n_down, n_due}

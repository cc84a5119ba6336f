-- Looks for hosts that refuse, and whether all that is left to do waits for them.
-- ARGV: ms for which they are borne with, 1 to have their last try by then.
-- Returns {hosts and leases of others, hosts that refuse, ms until the last of these has
-- been borne with for so long}.
local patience, is_last_wait = tonumber(ARGV[1]), ARGV[2] == '1'
local now = now_ms()
local down = T .. ':down'

local n_down = redis.call('ZCARD', down)
local n_down_ready, longest = n_down, 0
local n_others = redis.call('ZCARD', T .. ':ready')
n_others = n_others + tonumber(redis.call('HGET', T .. ':cnt', 'cw') or 0)
n_others = n_others + redis.call('SCARD', T .. ':paused')
for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
  local epoch, key = string.match(member, '^(%d+):(.*)$')
  if not redis.call('ZSCORE', down, key) then
    n_others = n_others + 1
  elseif redis.call('HGET', host_of(key), 'lk') == epoch then
    n_down_ready = n_down_ready - 1
  end
end
n_others = n_others - n_down_ready

if is_last_wait then
  -- A visit that is due later than that comes forward: it is the last one.
  for _, key in ipairs(redis.call('ZRANGE', down, 0, -1)) do
    local h = redis.call('HMGET', host_of(key), 'na', 'fs', 'lk', 'g')
    local ends = math.max(now, tonumber(h[2] or now) + patience)
    if tonumber(h[1] or 0) > ends and not h[3] then
      local crowd = crowd_of(key, h[4])
      redis.call('HDEL', host_of(key), 'na') -- frees before it adds
      redis.call('HSET', host_of(key), 'na', ends)
      make_unready(key, crowd)
      make_ready(key, 1, false, ends, crowd)
    end
  end
end
local last = redis.call('ZREVRANGE', down, 0, 0, 'WITHSCORES')
if last[2] then longest = math.max(0, tonumber(last[2]) + patience - now) end
return {n_others, n_down, longest}

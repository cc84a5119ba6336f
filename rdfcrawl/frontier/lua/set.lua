-- Sets what an operator decides about a key. ARGV: key, delay ms ('' leaves it),
-- pause (1, 0, '' leaves it). Returns 1, or 0 if the key is unknown.
local key, delay, pause = ARGV[1], ARGV[2], ARGV[3]
local host = host_of(key)
if redis.call('EXISTS', host) == 0 then return 0 end
if delay ~= '' then
  redis.call('HDEL', host, 'd')
  redis.call('HSET', host, 'd', delay)
end
if pause == '1' then
  make_unready(key, crowd_of(key, redis.call('HGET', host, 'g')))
  redis.call('ZREM', T .. ':down', key)
  redis.call('HSET', host, 'pz', 1)
elseif pause == '0' then
  redis.call('HDEL', host, 'pz')
  local h = redis.call('HMGET', host, 'n', 'lk', 'na', 'g')
  local not_before = math.max(now_ms(), tonumber(h[3] or 0))
  make_ready(key, tonumber(h[1] or 0), h[2], not_before, false, crowd_of(key, h[4]))
end
return 1

-- Makes the URIs owed by earlier runs due: hosts that refused, except within their
-- `Retry-After`, and deferred URIs. Returns their number.
local now = now_ms()
local hosts = redis.call('ZRANGE', T .. ':down', 0, -1)

-- Makes due the waits chosen by the crawl; see `deferred_of`.
local function end_own_waits(key)
  local place = deferred_of(key)
  local waiting = redis.call('ZRANGEBYSCORE', place, now, '+inf', 'WITHSCORES')
  for i = 1, #waiting, 2 do
    if tonumber(waiting[i + 1]) % 2 == 1 then redis.call('ZADD', place, now, waiting[i]) end
  end
end

for _, key in ipairs(hosts) do
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'lk', 'g', 'ra')
  local crowd, asked = crowd_of(key, h[3]), tonumber(h[4] or 0)
  end_own_waits(key)
  local since = redis.call('ZSCORE', T .. ':down', key)
  if asked <= now then
    redis.call('HDEL', host, 'f', 'fs', 'ra', 'u', 'wd')
    redis.call('ZREM', T .. ':down', key)
    redis.call('HSET', host, 'na', string.format('%d', now))
  end
  redis.call('HSETNX', host, 'os', string.format('%d', since))
  if not h[2] then
    make_unready(key, crowd)
    make_due(key, tonumber(h[1] or 0), false, math.max(now, asked), crowd)
  end
end
return #hosts

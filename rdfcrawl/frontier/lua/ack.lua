-- Commits batches whose children are queued and whose documents are stored.
-- ARGV per batch: key, epoch, n, n x index of an item that is given up, and kept for
-- `retry`. Returns one character per batch: 1 done, 0 the lease was
-- lost (its URIs are crawled again). So it is too if the key is still locked: the
-- server has lost its release in a crash, and with it maybe the children and what the
-- visit had put back.
local answer, done, failed = {}, 0, 0
local MOST_FAILED = 100000 -- of a partition

local function keep_failed(key, flight, at, n)
  if redis.call('LLEN', T .. ':failed') >= MOST_FAILED then return end
  for i = at, at + n - 1 do
    local item = redis.call('LINDEX', flight, ARGV[i])
    if item and item ~= '' then redis.call('RPUSH', T .. ':failed', key .. '\0' .. item) end
  end
end

local at = 1
while at <= #ARGV do
  local key, epoch, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local is_locked = redis.call('HGET', host_of(key), 'lk') == epoch
  if is_locked or redis.call('ZREM', T .. ':lease', epoch .. ':' .. key) == 0 then
    answer[#answer + 1] = '0'
  else
    local flight = flight_of(key, epoch)
    for _, item in ipairs(redis.call('LRANGE', flight, 0, -1)) do
      if item ~= '' then done = done + 1 end
    end
    if n > 0 then keep_failed(key, flight, at + 3, n) end
    failed = failed + n
    redis.call('DEL', flight)
    answer[#answer + 1] = '1'
  end
  at = at + 3 + n
end
count('l', -done)
count('done', done)
count('failed', failed)
return table.concat(answer)

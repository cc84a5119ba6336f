-- Commits batches whose children are queued and whose documents are stored.
-- ARGV per batch: key, epoch. Returns one character per batch: 1 done, 0 the lease was
-- lost (its URIs are crawled again). So it is too if the key is still locked: the
-- server has lost its release in a crash, and with it maybe the children and what the
-- visit had put back.
local answer, done = {}, 0
for i = 1, #ARGV, 2 do
  local key, epoch = ARGV[i], ARGV[i + 1]
  local is_locked = redis.call('HGET', host_of(key), 'lk') == epoch
  if is_locked or redis.call('ZREM', T .. ':lease', epoch .. ':' .. key) == 0 then
    answer[#answer + 1] = '0'
  else
    local flight = flight_of(key, epoch)
    for _, item in ipairs(redis.call('LRANGE', flight, 0, -1)) do
      if item ~= '' then done = done + 1 end
    end
    redis.call('DEL', flight)
    answer[#answer + 1] = '1'
  end
end
count('l', -done)
count('done', done)
return table.concat(answer)

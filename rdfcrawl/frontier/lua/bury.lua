-- Adds the figures of a gone worker to the sum of all gone workers. T is the prefix of
-- the crawl, not of a partition.
-- ARGV: worker; its figures and the sum, as read before; the new sum; the time (s)
-- since when it must have been silent.
-- Returns 0 if figures have changed meanwhile, else 1: done, or the worker lives.
local figures, workers, worker = T .. ':figures', T .. ':workers', ARGV[1]
if redis.call('HGET', figures, worker) ~= ARGV[2] then return 0 end
if (redis.call('HGET', figures, 'ended') or '') ~= ARGV[3] then return 0 end
local heard = redis.call('ZSCORE', workers, worker)
if heard and tonumber(heard) > tonumber(ARGV[5]) then return 1 end
redis.call('HDEL', figures, worker)
redis.call('HSET', figures, 'ended', ARGV[4])
redis.call('ZREM', workers, worker)
return 1

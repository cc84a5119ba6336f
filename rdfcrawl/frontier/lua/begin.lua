-- Records the next step with the single item of a batch, a suspect.
-- ARGV: key, epoch, 'asked' or 'read' (see `reap.lua`).
-- Returns 1, or 0 if the lease was lost.
local key, epoch, what = ARGV[1], ARGV[2], ARGV[3]
local host = host_of(key)
if redis.call('HGET', host, 'lk') ~= epoch then return 0 end
redis.call('HDEL', host, 'at') -- free memory first: see `prelude.lua`
redis.call('HSET', host, 'at', what)
return 1

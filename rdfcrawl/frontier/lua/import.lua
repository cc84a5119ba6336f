-- Keeps the place of a crawl that is imported from a file: until it is whole, its schema
-- is 0, which no version reads. T is the prefix of the crawl, not of a partition.
-- ARGV: 'begin', token of whoever imports it. Returns 1, or 0 if the crawl is there.
-- ARGV: 'end', token, field, value, …: it is whole, and has these settings. Returns 1, or
--   0 if it is not being imported under this token any more.
local what, token = ARGV[1], ARGV[2]
local conf = T .. ':conf'
local kept = redis.call('HMGET', conf, 'schema', 'import')
if what == 'begin' then
  if kept[1] and kept[1] ~= '0' then return 0 end
  redis.call('DEL', conf)
  redis.call('HSET', conf, 'schema', 0, 'import', token)
  return 1
end
if kept[2] ~= token then return 0 end
redis.call('DEL', conf)
redis.call('HSET', conf, unpack(ARGV, 3))
return 1

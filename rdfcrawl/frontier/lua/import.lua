-- Reserves the name of a crawl while it is imported from a file: until it is complete,
-- its schema is 0, which no version reads. T is the prefix of the crawl, not of a
-- partition.
-- ARGV: 'begin', token of the import. Returns 1, or 0 if the crawl exists.
-- ARGV: 'end', token, field, value, ...: it is complete, with these settings. Returns
-- 1, or 0 if the import with this token is no longer valid.
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

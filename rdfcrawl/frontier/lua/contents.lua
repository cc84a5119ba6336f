-- Tells which URL each content was first fetched from.
-- ARGV: most contents in `same`, at least 1; then hash and URL of each content.
-- Returns for each the first URL, which may be the same one; or empty if the content
-- was not known, and is from now on.
--
-- What is asked for is in `same`. When that is full it becomes `same:old`, and what was
-- not asked for since the last time is forgotten.
local young, old = T .. ':same', T .. ':same:old'
local most = tonumber(ARGV[1])
local n = redis.call('HLEN', young)
local found = {}
for i = 2, #ARGV, 2 do
  local first = redis.call('HGET', young, ARGV[i])
  if not first then
    first = redis.call('HGET', old, ARGV[i])
    if n >= most then
      redis.call('UNLINK', old) -- large: not at once, as RENAME would
      redis.call('RENAME', young, old)
      n = 0
    end
    redis.call('HSET', young, ARGV[i], first or ARGV[i + 1])
    n = n + 1
  end
  found[#found + 1] = first or ''
end
return found

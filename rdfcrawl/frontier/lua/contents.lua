-- Returns the URL from which each content was first fetched.
-- ARGV: most contents in `same`, at least 1; then per content the 16 bytes of its hash,
-- and its URL.
-- Returns, for known contents, the index (from 0) and the first URL, which may be the
-- same one. All others are known from now on.
-- Contents that are looked up are in `same`. When it is full, it becomes `same:old`,
-- and contents not looked up since the last time are forgotten.
local young, old = T .. ':same', T .. ':same:old'
local most = tonumber(ARGV[1])
local n = redis.call('HLEN', young)
local has_old = redis.call('EXISTS', old) == 1
local found = {}
for i = 2, #ARGV do
  local content, url = string.sub(ARGV[i], 1, 16), string.sub(ARGV[i], 17)
  local first
  if redis.call('HSETNX', young, content, url) == 0 then
    first = redis.call('HGET', young, content)
  else -- as usual
    n = n + 1
    first = has_old and redis.call('HGET', old, content)
    if n > most then
      redis.call('HDEL', young, content)
      redis.call('UNLINK', old) -- large: RENAME would delete it synchronously
      redis.call('RENAME', young, old)
      n, has_old = 1, true
      redis.call('HSET', young, content, first or url)
    elseif first then
      redis.call('HSET', young, content, first)
    end
  end
  if first then
    found[#found + 1] = i - 2
    found[#found + 1] = first
  end
end
return found

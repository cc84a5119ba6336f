-- Stores the robots.txt rules of origins for all workers, and lets one of them request a
-- file. T:robots has by origin `<time of a good copy> <time of the next try> <failures in
-- a row> <status>|<rules, packed>`, times in ms, 0 without a good copy; and under '' the
-- bytes of all of them. T:rf:<origin> has the token of the worker that requests it now.
-- ARGV: most origins, most bytes, ms to wait for a requesting worker, ms after which a
-- good copy is too old to be used, first and longest ms after a failure; then per entry:
-- origin, token, and operation:
--   'look' '' ''         what is known? If unknown or old, one worker may request it,
--                        or any whose token is ''.
--   'ask' '' ''          the same, but failures are retried now
--   'good' rules ms      rules were read, and are valid for so long
--   'bad' status ''      the request failed
--   'hold' '' ''         the request goes on
--   'end' '' ''          no request was sent after all
-- Returns for each {code, ms, status, rules}: 1 these rules are valid for so long; 2 the
-- caller must request the file, and may use older rules; 3 the request failed, and is
-- due again then; 0 another worker requests it, for that long at most.
--
-- Origins looked up lately are in T:robots. When it has reached its share, it becomes
-- `robots:old`, and origins not looked up since the last time are forgotten.
local young, old = T .. ':robots', T .. ':robots:old'
local most, most_bytes, hold = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local kept_ms, first_ms, longest_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now = now_ms()
local results = {}

local function asked_by(origin) return T .. ':rf:' .. origin end

-- Of the young table, read and written once: its bytes, and its number of fields.
local bytes, n = nil, nil
local is_changed = false

local function keep(origin, value, before)
  if not bytes then
    bytes, n = tonumber(redis.call('HGET', young, '') or 0), redis.call('HLEN', young)
  end
  if not before and n > most or bytes > most_bytes then
    redis.call('UNLINK', old) -- large: RENAME would delete it synchronously
    redis.call('RENAME', young, old)
    bytes, n, before = 0, 1, nil
  end
  bytes = bytes + #value - (before and #before or -#origin)
  if not before then n = n + 1 end
  redis.call('HSET', young, origin, value)
  is_changed = true
end

local function store_bytes()
  if not is_changed then return end
  redis.call('HSET', young, '', string.format('%d', bytes))
  redis.call('PEXPIRE', young, kept_ms)
end

local function entry_of(origin)
  local value = redis.call('HGET', young, origin)
  local before = value
  if not value then
    value = redis.call('HGET', old, origin)
    if value then keep(origin, value) end
    before = value
  end
  local at, due, failures, status, rules =
    string.match(value or '', '^(%d+) (%d+) (%d+) (%d+)|(.*)$')
  at = tonumber(at or 0)
  if at + kept_ms <= now then at, rules = 0, '' end
  return at, tonumber(due or 0), tonumber(failures or 0), tonumber(status or 0), rules,
    before
end

local function write(origin, at, due, failures, status, rules, before)
  keep(origin, string.format('%d %d %d %d|', at, due, failures, status) .. rules, before)
end

local function look(origin, token, is_hasty)
  local at, due, failures, status, rules = entry_of(origin)
  if due > now and at > 0 then return {1, due - now, status, rules} end
  if due > now and failures > 0 and not is_hasty then return {3, due - now, status, ''} end
  if token == '' then return {2, 0, status, rules} end
  local by = asked_by(origin)
  if not redis.call('SET', by, token, 'NX', 'PX', hold) and redis.call('GET', by) ~= token then
    return {0, math.max(0, redis.call('PTTL', by)), status, rules}
  end
  return {2, 0, status, rules}
end

local function finish(origin, token)
  if token ~= '' and redis.call('GET', asked_by(origin)) == token then redis.call('DEL', asked_by(origin)) end
end

local function bad(origin, status)
  local at, _, failures, _, rules, before = entry_of(origin)
  local wait = math.min(longest_ms, first_ms * 2 ^ math.min(failures, 40))
  write(origin, at, now + wait, failures + 1, status, rules, before)
  return {at > 0 and 1 or 3, wait, status, rules}
end

for i = 7, #ARGV, 5 do
  local origin, token, what = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if what == 'look' or what == 'ask' then
    results[#results + 1] = look(origin, token, what == 'ask')
  elseif what == 'hold' then
    if redis.call('GET', asked_by(origin)) == token then
      redis.call('PEXPIRE', asked_by(origin), hold)
    end
    results[#results + 1] = {0, 0, 0, ''}
  else
    finish(origin, token)
    if what == 'good' then
      local ms = tonumber(ARGV[i + 4])
      write(origin, now, now + ms, 0, 200, ARGV[i + 3], redis.call('HGET', young, origin))
      results[#results + 1] = {1, ms, 200, ''}
    elseif what == 'bad' then
      results[#results + 1] = bad(origin, tonumber(ARGV[i + 3]))
    else
      results[#results + 1] = {0, 0, 0, ''}
    end
  end
end
store_bytes()
return results

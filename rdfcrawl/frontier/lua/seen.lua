-- The seen set: a linear hash table of intset-encoded SETs, 2^lv + sp buckets. The bucket
-- number is the low bits of a fingerprint, so that buckets can be split. The last 15
-- digits are enough modulo 2^15, as 10^15 is a multiple of it.
-- It also holds marks (counted as `mk`), one of each:
--   away <key>          the key exceeds the limit of its domain's partition: see `add.lua`
--   here <key>          it stays there, as URIs of it were seen there before
--   uri <fingerprint>   a URI of a key that is away, counted for `max_per_domain`
-- Forgotten fingerprints (`add.lua`) still count as seen; `mk` is reduced.
local MAX_LEVEL = 15
local call, sub = redis.call, string.sub -- used per URI
local level, split, base, n_members, n_marks
local names = {}

local function open_seen()
  local state = call('HMGET', T .. ':cnt', 'lv', 'sp', 'seen', 'mk')
  level, split = tonumber(state[1] or 0), tonumber(state[2] or 0)
  n_members = tonumber(state[3] or 0) + tonumber(state[4] or 0)
  n_marks = 0
  base = 2 ^ level
end

local function low_bits(fingerprint) return tonumber(sub(fingerprint, -15)) end
local function bucket_of(fingerprint)
  local bits = sub(fingerprint, -15) + 0 -- as in `low_bits`
  local b = bits % base
  if b < split then b = bits % (base * 2) end
  local name = names[b]
  if not name then
    name = T .. ':s:' .. string.format('%d', b)
    names[b] = name
  end
  return name
end

-- 52 bits, as Lua's numbers are exact to 53.
local function mark_of(what, name)
  local digits = sub(redis.sha1hex(what .. ' ' .. name), 1, 13)
  return string.format('%d', tonumber(digits, 16))
end

local function has_mark(what, name)
  local mark = mark_of(what, name)
  return call('SISMEMBER', bucket_of(mark), mark) == 1
end

local function set_mark(what, name)
  local mark = mark_of(what, name)
  n_marks = n_marks + call('SADD', bucket_of(mark), mark)
end

local function drop_mark(what, name)
  local mark = mark_of(what, name)
  local n = call('SREM', bucket_of(mark), mark)
  n_marks = n_marks - n
  return n == 1
end

local function put(bucket, members)
  for i = 1, #members, 1000 do
    call('SADD', bucket, unpack(members, i, math.min(i + 999, #members)))
  end
end

local function split_one()
  local old = T .. ':s:' .. string.format('%d', split)
  local new = T .. ':s:' .. string.format('%d', split + base)
  local stay, move = {}, {}
  for _, fingerprint in ipairs(call('SMEMBERS', old)) do
    if low_bits(fingerprint) % (base * 2) == split then
      stay[#stay + 1] = fingerprint
    else
      move[#move + 1] = fingerprint
    end
  end
  call('DEL', old)
  put(old, stay)
  put(new, move)
  split = split + 1
  if split == base then level, split, base = level + 1, 0, base * 2 end
end

-- Counts the marks, and splits buckets if the set has grown by that many URIs.
local function close_seen(n_uris, fill)
  count('mk', n_marks)
  local n = n_members + n_uris + n_marks
  if n > fill * (base + split) and level < MAX_LEVEL then
    repeat split_one() until n <= fill * (base + split) or level == MAX_LEVEL
    call('HSET', T .. ':cnt', 'lv', level, 'sp', split)
  end
end

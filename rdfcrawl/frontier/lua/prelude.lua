-- Shared by all operations. KEYS[1] is the partition's prefix T = rc:{crawl/p};
-- every key is computed under its hash tag, so a script touches one slot.
--
-- Invariants, each kept by every script:
--   seen = q + l + w + done + dead + known      (fields of T:cnt)
--   q = sum of n over T:h:*  = sum of LLEN over T:q:* and ZCARD over T:later:*, and of
--     the URIs stored with keys in T:h:* (`STORED`)
--   l = items other than '' over T:i:*
--   a key waits (in T:ready, or in its crowd T:w:*)
--     <=>  n > 0, not locked (lk); a key that is paused and not leased is locked
--   a crowd has one place in T:ready  <=>  a key waits in it
--   cw = keys that wait in crowds - crowds in T:ready
--   epoch:key is in T:lease  <=>  T:i:key:epoch exists; a lock is one of them
--
-- With full memory all but `add` must go on. Redis 6.2 refuses commands that may take
-- memory only as the first write of a script, so these scripts free before they add.
--
-- Redis takes 0.16 to 0.25 us to format a number that a script passes to a command,
-- `string.format` 0.1: numbers passed more than once are formatted once.
local T = KEYS[1]
local RETRY_BAND, LINK_BAND, LAST_BAND = 0, 2, 3
local ORDINARY_BANDS = {1, 4, 5, 6, 2, 7, 8, 3} -- in this order
local REFRESH_BAND = 9 -- has half of the turns
local OWED = '\1' -- prefix of entries of T:failed that the next run retries
local PAUSED = 'paused' -- lock of keys paused by an operator (`p`)

-- Time in ms. It never goes back: if the server's clock does, hosts would rest and
-- leases last for as much longer. `clk` is the latest stored time, `off` the correction
-- added to the clock since it went back.
local function read_clock()
  local t = redis.call('TIME')
  local kept = redis.call('HMGET', T .. ':cnt', 'clk', 'off')
  local clock = t[1] * 1000 + math.floor(t[2] / 1000)
  return clock, tonumber(kept[1] or 0), tonumber(kept[2] or 0)
end

local function now_ms()
  local clock, latest, offset = read_clock()
  return math.max(clock + offset, latest)
end

local function host_of(key) return T .. ':h:' .. key end
local function queue_of(key, band) return T .. ':q:' .. key .. ':' .. band end
local function flight_of(key, epoch) return T .. ':i:' .. key .. ':' .. epoch end

-- The first URIs of a key are stored with it, each with the digit of its band in front:
-- a list takes 200 bytes and a few commands, and most keys have few URIs at a time. They
-- are in the order of arrival, and before those of the same band in lists. Long ones have
-- a second field, as a longer value would unfold the hash.
-- URIs of a key are alike, and often have the same parent. So each after the first has
-- two bytes after its band: the lengths of the prefix and of the suffix that it shares
-- with the one before, and that it omits. They fit in any case, so that any may go first.
local STORED, REST = {'i', 'j', 'l'}, {'r', 's', 't'}
local N_STORED, FIELD_BYTES = 3, 64
local MAX_STORED = 2 * FIELD_BYTES - 3 -- bytes of an item

-- Returns {digit of the band, item} of each stored URI of a key, with `fields`, the names
-- of their fields. `values` has the values of `STORED` from place `at` on.
local function stored_in(values, at, key)
  local sub, stored, fields = string.sub, {}, {}
  for slot = 1, N_STORED do
    local text = values[at + slot - 1]
    if text then
      fields[#fields + 1] = STORED[slot]
      if #text == FIELD_BYTES then
        fields[#fields + 1] = REST[slot]
        text = text .. (redis.call('HGET', host_of(key), REST[slot]) or '')
      end
      local before, item = stored[#stored], sub(text, 2)
      if before then
        local prefix, suffix = string.byte(text, 2, 3)
        item = sub(before[2], 1, prefix or 0) .. sub(text, 4)
        if suffix and suffix > 0 then item = item .. sub(before[2], -suffix) end
      end
      stored[#stored + 1] = {sub(text, 1, 1), item}
    end
  end
  stored.fields = fields
  return stored
end

-- Returns the lengths of the longest prefix and suffix that two items share, and that do
-- not overlap.
local function shared_by(a, b)
  local sub, most = string.sub, math.min(#a, #b)
  local prefix, longest = 0, most
  while prefix < longest do
    local middle = math.ceil((prefix + longest) / 2)
    if sub(a, 1, middle) == sub(b, 1, middle) then prefix = middle else longest = middle - 1 end
  end
  local suffix = 0
  longest = most - prefix
  while suffix < longest do
    local middle = math.ceil((suffix + longest) / 2)
    if sub(a, -middle) == sub(b, -middle) then suffix = middle else longest = middle - 1 end
  end
  return prefix, suffix
end

-- Adds {field, value, ...} to `fields` for an item of at most `MAX_STORED` in a slot;
-- `before` is the item in the slot before, or nil.
local function store_in(fields, slot, band, item, before)
  local text = band .. item
  if before then
    local prefix, suffix = shared_by(before, item)
    text = band .. string.char(prefix, suffix) .. string.sub(item, prefix + 1, #item - suffix)
  end
  fields[#fields + 1] = STORED[slot]
  fields[#fields + 1] = string.sub(text, 1, FIELD_BYTES)
  if #text > FIELD_BYTES then
    fields[#fields + 1] = REST[slot]
    fields[#fields + 1] = string.sub(text, FIELD_BYTES + 1)
  end
end

local function stored_of(key)
  return stored_in(redis.call('HMGET', host_of(key), unpack(STORED)), 1, key)
end

local function clock_of(key) return T .. ':t:' .. key end
local function count(field, by)
  if by ~= 0 then redis.call('HINCRBY', T .. ':cnt', field, by) end
end

-- Items held by a dead worker are suspects: they are handed out alone, and each step is
-- recorded before it is taken (`begin.lua`).
local function is_suspect(item)
  return math.floor((string.byte(item, 1) or 0) / 16) % 4 > 0
end

-- Hosts of a giant domain that came after the limit form a crowd: they wait in
-- T:w:<crowd>, and have one place in T:ready, as `@<crowd>`. So they take turns with
-- other hosts as if they were one host. The same for hosts of one address.
local CROWD_AFTER = 16

-- Returns the name of a host's crowd, or nil. `g` is a field of the host: how much of
-- its key is the domain, or an address; '' for a host without a crowd that was counted
-- for its address.
local function crowd_of(key, g)
  if not g or g == '' then return nil end
  local length = tonumber(g)
  return length and string.sub(key, -length) or g
end

-- Hosts are counted for their domains and addresses in buckets, as one hash for each
-- would take more memory.
local function counts_of(bucket) return T .. ':d:' .. bucket end

local function waiting_of(crowd) return T .. ':w:' .. crowd end
local function place_of(crowd) return '@' .. crowd end

-- URIs refused by their server, each with the time (ms) of the next request. Odd times
-- are chosen by the crawl, even ones by the server. Meanwhile, other URIs of the key
-- are visited.
local function deferred_of(key) return T .. ':later:' .. key end

-- Makes a key ready if it has work and is not leased.
local function make_ready(key, n, lock, not_before, crowd)
  if n == 0 or lock then return end
  if not crowd then
    redis.call('ZADD', T .. ':ready', not_before, key)
  else
    local is_new = redis.call('ZADD', waiting_of(crowd), not_before, key) == 1
    local placed = redis.call('ZADD', T .. ':ready', 'LT', not_before, place_of(crowd))
    if is_new then count('cw', 1 - placed) end
  end
end

-- Removes a key from where it waits.
local function make_unready(key, crowd)
  if not crowd then
    redis.call('ZREM', T .. ':ready', key)
  elseif redis.call('ZREM', waiting_of(crowd), key) == 1 then
    if redis.call('EXISTS', waiting_of(crowd)) == 1 then
      count('cw', -1)
    else
      redis.call('ZREM', T .. ':ready', place_of(crowd))
    end
  end
end

-- The same for a key that may have deferred URIs. If it has no others, it waits for the
-- first of them (field `wd`), and counts as refusing.
local function make_due(key, n, lock, not_before, crowd)
  if n > 0 and redis.call('ZCARD', deferred_of(key)) >= n then
    local first = redis.call('ZRANGE', deferred_of(key), 0, 0, 'WITHSCORES')
    not_before = string.format('%d', math.max(tonumber(not_before), tonumber(first[2])))
    redis.call('HSET', host_of(key), 'wd', 1)
    if not lock then redis.call('ZADD', T .. ':down', 'NX', now_ms(), key) end
  end
  make_ready(key, n, lock, not_before, crowd)
end

-- Records that a key has URIs that are not deferred.
local function end_deferral(key, has_failed)
  redis.call('HDEL', host_of(key), 'wd')
  if not has_failed then redis.call('ZREM', T .. ':down', key) end
end

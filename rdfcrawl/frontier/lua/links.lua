-- Takes URIs of a key that has only links, or few URIs, as most keys do.

-- Moves stored URIs to the items, as long as there is room; `band` is a digit, or nil for
-- any.
local function take_stored(most, items, stored, band)
  for _, one in ipairs(stored) do
    if #items == most then break end
    if not band or one[1] == band then
      items[#items + 1] = one[2]
      one.is_taken = true
    end
  end
end

-- Frees the fields of URIs that were taken, and returns {field, value, ...} for the rest.
local function store_rest(key, stored)
  local fields, slot, before, is_less = {}, 0, nil, false
  for _, one in ipairs(stored) do
    if one.is_taken then
      is_less = true
    else
      slot = slot + 1
      store_in(fields, slot, one[1], one[2], before)
      before = one[2]
    end
  end
  if not is_less then return {} end
  redis.call('HDEL', host_of(key), unpack(stored.fields))
  return fields
end

local RANKS = {}
for rank, band in ipairs(ORDINARY_BANDS) do RANKS[tostring(band)] = rank end

-- Most keys have only links, or few URIs: a fast path. Returns the items taken, or nil if
-- there may be others. `n` is the number of URIs of the key.
local function take_links(key, most, n, stored)
  local rest, is_mixed = n - #stored, false
  for _, one in ipairs(stored) do is_mixed = is_mixed or one[1] ~= '2' end -- LINK_BAND
  if n < 1 or rest > 0 and is_mixed then return nil end
  local links, items = queue_of(key, LINK_BAND), {}
  if rest ~= 0 and redis.call('LLEN', links) ~= rest then return nil end
  if is_mixed and n > 1 then
    for i, one in ipairs(stored) do one[3] = RANKS[one[1]] * 10 + i end
    table.sort(stored, function(a, b) return a[3] < b[3] end)
  end
  if #stored > 0 then take_stored(most, items, stored) end
  if rest > 0 and #items < most then
    for _, item in ipairs(redis.call('LPOP', links, most - #items)) do
      items[#items + 1] = item ~= '' and item or '?'
    end
  end
  return items
end


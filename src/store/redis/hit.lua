
-- A hit: counted in every window of the rule, spent in all of them or in none.
--
-- ARGV[3]  attempts of before that the caller refused by itself, and has not told yet
-- ARGV[4]  the time of the last of them: they count in the windows that had begun by then
-- ARGV[5]  1: windows that nobody asks for any more are removed; 0: only where they are very many

local untold, untold_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

local fits = true
for i, limit in ipairs(limits) do
  fits = fits and admitted[i] + units <= limit
end
local changes = {}
for i, field in ipairs(fields) do
  attempts[i] = attempts[i] + units
  if starts[i] <= untold_ms then attempts[i] = attempts[i] + untold end
  attempts[i] = math.min(attempts[i], MAX_UNITS)
  if fits then admitted[i] = admitted[i] + units end
  changes[#changes + 1] = field
  changes[#changes + 1] = written(i)
end
redis.call('HSET', KEYS[1], unpack(changes))

-- Until the window after it has ended. By a caller's clock, which may stand still for all that is
-- known here, at least as long again from now, and ten minutes.
local at = expires_ms
if is_given then at = math.max(at, server_ms + math.max(longest_ms, 600000)) end
-- Also where there is none, whoever took it away.
if redis.call('PTTL', KEYS[1]) < at - server_ms then
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', at))
end

-- Each window is removed when a new one begins and it is past, by the hit's time and by the clock: of
-- each length the current one and the one before it are left.
local TWO_MONTHS = 62 * 86400000
local kept = ARGV[5] == '1' and #fields or #fields + 1000
if some_new and redis.call('HLEN', KEYS[1]) > kept then
  local earlier, past = math.min(now, server_ms), {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local code, start = string.match(field, '^(%d+):(%d+)$')
    local lasts = code == '0' and TWO_MONTHS or 2 * (tonumber(code) or 0)
    if not code or tonumber(start) + lasts <= earlier then past[#past + 1] = field end
  end
  -- A call takes some thousand words.
  for from = 1, #past, 1000 do
    redis.call('HDEL', KEYS[1], unpack(past, from, math.min(from + 999, #past)))
  end
end
return answer

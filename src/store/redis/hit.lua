
-- A hit: counted in every window of the rule, spent in all of them or in none. After the month:
--
-- attempts of before that the caller refused by itself, and has not told yet
-- the time of the last of them: they count in the windows that had begun by then
-- 1: windows that nobody asks for any more are removed only where they are very many

local untold, untold_ms = ARGV[2 * @n + 5] or 0, (ARGV[2 * @n + 6] or -1) + 0

local fits = true
-- for each limit
if admitted@ + units > ARGV[2 * @ + 2] + 0 then fits = false end
-- end

-- The first thing that is written, since a server looks only there whether its memory is full.
-- for each limit
attempts@ = attempts@ + units
if start@ <= untold_ms and untold_ms < ends@ then attempts@ = attempts@ + untold end
if attempts@ > MAX_UNITS then attempts@ = MAX_UNITS end
if fits then admitted@ = admitted@ + units end
call('HSET', key, field@, format(attempts@ < NARROW and '%d %d' or '%.0f %.0f', attempts@, admitted@))
-- end

-- Until the window after it has ended. By a caller's clock, which may stand still for all that is
-- known here, at least as long again from now, and ten minutes.
local A_MONTH, expires_ms, longest_ms = 31 * 86400000, 0, 600000
-- for each limit
do
  local lasts = ARGV[2 * @ + 1] ~= '0' and ends@ - start@ or A_MONTH
  if ends@ + lasts > expires_ms then expires_ms = ends@ + lasts end
  if 2 * lasts > longest_ms then longest_ms = 2 * lasts end
end
-- end
if is_given then expires_ms = math.max(expires_ms, server_ms + longest_ms) end
-- Also where there is none, whoever took it away.
if call('PTTL', key) < expires_ms - server_ms then
  call('PEXPIREAT', key, format('%.0f', expires_ms))
end

-- Each window is removed when a new one begins and it is past, by the hit's time and by the clock: of
-- each length the current one and the one before it are left.
if some_new and call('HLEN', key) > (ARGV[2 * @n + 7] == '1' and @n + 1000 or @n) then
  local earlier, past = math.min(now, server_ms), {}
  for _, field in ipairs(call('HKEYS', key)) do
    local code, start = string.match(field, '^(%d+):(%d+)$')
    local stays = code == '0' and 2 * A_MONTH or 2 * (tonumber(code) or 0)
    if not code or start + stays <= earlier then past[#past + 1] = field end
  end
  -- A call takes some thousand words.
  for from = 1, #past, 1000 do
    call('HDEL', key, unpack(past, from, math.min(from + 999, #past)))
  end
end
return answer

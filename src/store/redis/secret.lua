-- Whoever comes first decides under which secret the keys of clients are hashed. Says whether it is the
-- caller's, of which ARGV tells two halves of a check value.
local own = ARGV[1] .. ' ' .. ARGV[2]
local known = redis.call('GET', KEYS[1])
if not known then
  redis.call('SET', KEYS[1], own)
  return 1
end
return known == own and 1 or 0

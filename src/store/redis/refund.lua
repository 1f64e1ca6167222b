
-- A refund: counters that are there give back, down to nothing spent; none is made.
local changes = {}
for i, field in ipairs(fields) do
  if is_there[i] then
    admitted[i] = math.max(admitted[i] - units, 0)
    changes[#changes + 1] = field
    changes[#changes + 1] = written(i)
  end
end
if #changes > 0 then redis.call('HSET', KEYS[1], unpack(changes)) end
return answer

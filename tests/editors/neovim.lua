-- Neovim under remote control (tests/support/editors.py): one order a line, done with what Neovim itself offers.
local loop = vim.loop
local pipe = loop.new_pipe(false)
local asked = {} -- what was asked of the user: {prompt, choices}
local choice = nil -- the title that the user will choose
local hovered = {}

local function clients(buffer)
  local all = vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = buffer })
    or (buffer and vim.lsp.buf_get_clients(buffer) or vim.lsp.get_active_clients())
  return vim.tbl_filter(function(client) return client.name == 'abey' end, vim.tbl_values(all))
end

-- a user who chooses by title, and closes the list where it is not there
local function choose(prompt, titles)
  table.insert(asked, { prompt = prompt, choices = titles })
  for index, title in ipairs(titles) do
    if title == choice then return index end
  end
end

vim.ui.select = function(items, options, done)
  local format = options.format_item or tostring
  local index = choose(options.prompt or '', vim.tbl_map(format, items))
  done(items[index], index)
end

vim.fn.inputlist = function(lines)
  local titles = {}
  for index = 3, #lines do titles[#titles + 1] = lines[index]:gsub('^%d+%. ', '', 1) end
  return choose(lines[1], titles) or 0
end

local function lines_of(text) return vim.split(text, '\n', { plain = true }) end

local function cursor(line, column)
  vim.api.nvim_win_set_cursor(0, { line + 1, column })
end

local verbs = {}

function verbs.open(path) vim.cmd('edit ' .. vim.fn.fnameescape(path)) end

function verbs.ready()
  for _, client in ipairs(clients(0)) do
    if client.initialized and next(client.server_capabilities or {}) then return true end
  end
  return false
end

-- which servers there are: none after the daemon ended, until a file is read again
function verbs.server()
  return table.concat(vim.tbl_map(function(client) return tostring(client.id) end, clients()), ' ')
end

function verbs.path() return vim.api.nvim_buf_get_name(0) end

function verbs.paths()
  return vim.tbl_map(vim.api.nvim_buf_get_name, vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs()))
end

function verbs.text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n' end

-- the buffer follows the file, where nobody changed it
function verbs.refresh() vim.cmd('checktime') end

-- what the guide says after a message was sent that was not saved
function verbs.reread() vim.cmd('edit!') end

function verbs.replace(text)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines_of((text:gsub('\n$', ''))))
end

function verbs.save() vim.cmd('write!') end

function verbs.diagnostics()
  return vim.tbl_map(function(one) return { one.lnum, one.message } end, vim.diagnostic.get(0))
end

-- <C-x><C-o> in insert mode; the menu is what `menu` then finds
function verbs.complete(line, column)
  vim.bo.omnifunc = 'v:lua.vim.lsp.omnifunc'
  vim.o.completeopt = 'menuone,noselect'
  cursor(line, math.max(column - 1, 0))
  local keys = vim.api.nvim_replace_termcodes((column == 0 and 'i' or 'a') .. '<C-x><C-o>', true, false, true)
  vim.api.nvim_feedkeys(keys, 'n', false)
end

function verbs.menu()
  return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ 'items' }).items)
end

function verbs.escape()
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<C-e><Esc>', true, false, true), 'n', false)
end

function verbs.hover(line, column)
  cursor(line, column)
  vim.lsp.buf.hover()
end

function verbs.hovered()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
    end
  end
  return ''
end

-- the list of code actions at the start of a line, and one of them chosen by its title
function verbs.act(title, line)
  choice, asked = title, {}
  cursor(line or 0, 0)
  vim.lsp.buf.code_action()
end

-- the same, for what takes long
verbs.begin = verbs.act

-- what the next question will be answered with
function verbs.choose(title) choice, asked = title, {} end

function verbs.asked() return asked end

function verbs.command(name, arguments)
  vim.lsp.buf_request(0, 'workspace/executeCommand', { command = name, arguments = arguments })
end

function verbs.seen() return table.concat(verbs.paths(), '\n') .. '\n' .. table.concat(verbs.messages(), '\n') end

function verbs.messages() return vim.split(vim.api.nvim_exec('messages', true), '\n') end

function verbs.ex(command) return vim.api.nvim_exec(command, true) end

function verbs.eval(expression) return vim.fn.luaeval(expression) end

-- what was shown of work under way: from 0.10 on as events, before that as a list
local progress = {}
if vim.fn.exists('##LspProgress') == 1 then
  vim.api.nvim_create_autocmd('LspProgress', {
    callback = function(event)
      local value = event.data.params.value
      table.insert(progress, value.kind .. ' ' .. (value.title or ''))
    end,
  })
end

function verbs.progress()
  for _, one in ipairs(vim.lsp.util.get_progress_messages and vim.lsp.util.get_progress_messages() or {}) do
    table.insert(progress, (one.done and 'end ' or 'report ') .. (one.title or ''))
  end
  return progress
end

function verbs.log()
  local file = io.open(vim.lsp.get_log_path())
  return file and file:read('*a') or ''
end

function verbs.quit() vim.schedule(function() vim.cmd('qa!') end) end

local function obey(line)
  local order = vim.json.decode(line)
  local verb = verbs[order.verb]
  local ok, value = pcall(function()
    return assert(verb, 'no such verb: ' .. order.verb)(unpack(order.arguments))
  end)
  if value == nil then value = vim.NIL end
  pipe:write(vim.json.encode(ok and { value = value } or { error = tostring(value) }) .. '\n')
end

local buffered = ''
pipe:connect(vim.env.ABEY_TEST_SOCKET, function(failed)
  assert(not failed, failed)
  pipe:read_start(function(_, chunk)
    if not chunk then return vim.schedule(function() vim.cmd('qa!') end) end
    buffered = buffered .. chunk
    for line in buffered:gmatch('([^\n]*)\n') do vim.schedule(function() obey(line) end) end
    buffered = buffered:gsub('.*\n', '')
  end)
end)

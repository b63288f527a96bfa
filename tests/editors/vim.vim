" Vim with ALE under remote control (tests/support/editors.py): one order a line, done with what the two offer.
let s:lines = []
let s:asked = []
let s:choice = v:null
let s:menu = []
let s:before = 0
let s:heard = []

" a user who chooses by title, and presses Enter on an empty line where it is not there
function! s:Input(message, ...) abort
  let l:titles = []
  let l:number = ''
  for l:line in split(a:message, "\n")
    let l:found = matchlist(l:line, '^\(\d\+\)) \(.*\)$')
    if !empty(l:found)
      call add(l:titles, l:found[2])
      let l:number = l:found[2] ==# s:choice ? l:found[1] : l:number
    endif
  endfor
  call add(s:asked, {'prompt': '', 'choices': l:titles})
  return l:number
endfunction

function! s:Connection() abort
  for [l:id, l:connection] in items(ale#lsp#GetConnections())
    if l:id =~# '^abey-daemon' && l:connection.initialized
      return l:connection
    endif
  endfor
  return {}
endfunction

let s:verbs = {}

function! s:verbs.open(path) abort
  execute 'edit ' .. fnameescape(a:path)
endfunction
function! s:verbs.ready() abort
  return empty(s:Connection()) || !has_key(s:Connection().open_documents, bufnr('')) ? v:false : v:true
endfunction
function! s:verbs.server() abort
  return empty(s:Connection()) ? v:false : v:true
endfunction
function! s:verbs.path() abort
  return expand('%:p')
endfunction
function! s:verbs.paths() abort
  return map(getbufinfo({'bufloaded': 1}), 'v:val.name')
endfunction
function! s:verbs.text() abort
  return join(getline(1, '$'), "\n") .. "\n"
endfunction
function! s:verbs.refresh() abort
  call AbeyReread(bufnr(''))
endfunction
function! s:verbs.reread() abort
  edit!
endfunction
function! s:verbs.replace(text) abort
  silent %delete _
  call setline(1, split(substitute(a:text, '\n$', '', ''), "\n", 1))
endfunction
function! s:verbs.save() abort
  write!
endfunction
function! s:verbs.diagnostics() abort
  let l:found = get(get(g:ale_buffer_info, bufnr(''), {}), 'loclist', [])
  return mapnew(l:found, {_, one -> [one.lnum - 1, one.text]})
endfunction
" as if it were typed in insert mode, which a script without keys cannot be in
function! s:verbs.complete(line, column) abort
  call cursor(a:line + 1, a:column + 1)
  let s:menu = []
  let s:mode = 'i'
  call ale#completion#GetCompletions('ale-callback', {'callback': function('s:Offer')})
endfunction
function! s:Offer(items) abort
  let s:mode = ''
  let s:menu = mapnew(a:items, {_, one -> one.word})
endfunction
function! s:verbs.menu() abort
  return s:menu
endfunction
function! s:verbs.escape() abort
endfunction
function! s:verbs.hover(line, column) abort
  call cursor(a:line + 1, a:column + 1)
  let s:before = len(s:heard)
  call ale#hover#ShowAtCursor()
endfunction
function! s:verbs.hovered() abort
  return join(s:heard[s:before :], "\n")
endfunction
function! s:verbs.act(title, ...) abort
  let s:choice = a:title
  let s:asked = []
  call cursor(get(a:000, 0, 0) + 1, 1)
  ALECodeAction
endfunction
let s:verbs.begin = s:verbs.act
function! s:verbs.choose(title) abort
  let s:choice = a:title
  let s:asked = []
endfunction
function! s:verbs.asked() abort
  return s:asked
endfunction
function! s:verbs.command(name, arguments) abort
  call call('Abey', [substitute(a:name, '^abey\.', '', '')] + a:arguments)
endfunction
function! s:verbs.seen() abort
  return join(s:verbs.paths() + s:verbs.messages(), "\n")
endfunction
function! s:verbs.messages() abort
  return s:heard + split(execute('messages'), "\n")
endfunction
function! s:verbs.ex(command) abort
  return execute(a:command)
endfunction
function! s:verbs.eval(expression) abort
  return eval(a:expression)
endfunction
function! s:verbs.log() abort
  return execute('messages') .. string(get(g:, 'ale_lsp_error_messages', {}))
endfunction
function! s:verbs.quit() abort
  call timer_start(10, {-> execute('qall!')})
endfunction

function! s:Obey(line) abort
  let l:order = json_decode(a:line)
  try
    let l:value = call(s:verbs[l:order.verb], l:order.arguments, {})
    let l:answer = {'value': l:value}
  catch
    let l:answer = {'error': v:exception .. ' at ' .. v:throwpoint}
  endtry
  call ch_sendraw(s:link, json_encode(l:answer) .. "\n")
endfunction

runtime! autoload/ale/util.vim
function! ale#util#Input(message, ...) abort
  return s:Input(a:message)
endfunction

" what ALE shows in the last line of the screen, or in a preview, where there are none
function! ale#util#ShowMessage(text, ...) abort
  call add(s:heard, a:text)
endfunction

let s:mode = ''
function! ale#util#Mode(...) abort
  return empty(s:mode) ? call('mode', a:000) : s:mode
endfunction

doautocmd VimEnter
let s:link = ch_open('unix:' .. $ABEY_TEST_SOCKET,
  \ {'mode': 'nl', 'callback': {_, line -> add(s:lines, line)}, 'close_cb': {_ -> execute('cquit')}})
while 1
  sleep 20m
  while !empty(s:lines)
    call s:Obey(remove(s:lines, 0))
  endwhile
endwhile

;;; emacs.el --- Emacs under remote control (tests/support/editors.py)  -*- lexical-binding: t; -*-

;; One order a line, done with what Emacs and eglot themselves offer.

;;; Code:

(require 'cl-lib)
(require 'json)

(defvar remote-asked nil "What was asked of the user: a list of (prompt . choices), newest first.")
(defvar remote-choice nil "The title that the user will choose.")
(defvar remote-lines nil "Orders that wait.")
(defvar remote-buffered "")
(defvar remote-hovered "")
(defvar remote-messages nil "What was said, newest first.")

(defun remote-pick (prompt collection &rest _)
  "Choose as a user who picks by title; where it is not there, leave a list, and answer a question with nothing."
  (let ((titles (all-completions "" collection)))
    (push (list :prompt prompt :choices (vconcat titles)) remote-asked)
    (or (car (member remote-choice titles))
        (if (string-match-p "Pick an action" prompt) (signal 'quit nil) ""))))

(setq completing-read-function #'remote-pick
      last-nonmenu-event ?\r ; a command that the keyboard asked for
      auto-revert-use-notify nil ; notes about files are events, which a batch never reads
      create-lockfiles nil
      make-backup-files nil)
(defalias 'y-or-n-p #'always) ; the user lets the server edit

(defun remote-note (format &rest arguments)
  (when format (push (apply #'format-message format arguments) remote-messages)))
(advice-add 'message :before #'remote-note)

(defun remote-open (path) (switch-to-buffer (find-file-noselect path)) nil)
(defun remote-yes (it) (if it t :json-false))
(defun remote-ready ()
  (let ((server (and (eglot-managed-p) (eglot-current-server))))
    (remote-yes (and server (jsonrpc-running-p server)))))
(defun remote-server ()
  "The process of the server, nil where none runs."
  (let ((server (eglot-current-server)))
    (and server (jsonrpc-running-p server) (process-id (jsonrpc--process server)))))
(defun remote-lasting ()
  "Whether eglot would connect again if the server ended now."
  (remote-yes (not (eglot--inhibit-autoreconnect (eglot-current-server)))))
(defun remote-path () (or (buffer-file-name) ""))
(defun remote-paths () (vconcat (delq nil (mapcar #'buffer-file-name (buffer-list)))))
(defun remote-text () (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max))))
(defun remote-refresh ()
  "The buffer follows the file, where nobody changed it."
  (unless (or (buffer-modified-p) (verify-visited-file-modtime)) (revert-buffer t t t))
  nil)
(defun remote-reread () (revert-buffer t t) nil)
(defun remote-replace (text) (erase-buffer) (insert text) nil)
(defun remote-save () (save-buffer) nil)
(defun remote-go (line column)
  (goto-char (point-min))
  (forward-line line)
  (forward-char column))

(defun remote-diagnostics ()
  (flymake-start)
  (vconcat (mapcar (lambda (one)
                     (vector (1- (line-number-at-pos (flymake-diagnostic-beg one)))
                             (flymake-diagnostic-text one)))
                   (flymake-diagnostics))))

(defvar remote-menu [])
(defun remote-complete (line column)
  (remote-go line column)
  (pcase (run-hook-wrapped 'completion-at-point-functions #'completion--capf-wrapper 'all)
    (`(,_ ,start ,end ,table . ,properties)
     (setq remote-menu
           (vconcat (mapcar #'substring-no-properties
                            (all-completions (buffer-substring start end) table
                                             (plist-get properties :predicate))))))
    (_ (setq remote-menu [])))
  nil)
(defun remote-menu () remote-menu)
(defun remote-escape () nil)

(defun remote-hover (line column)
  (remote-go line column)
  (setq remote-hovered "")
  (eglot-hover-eldoc-function (lambda (text &rest _) (setq remote-hovered (or text ""))))
  nil)
(defun remote-hovered () (substring-no-properties remote-hovered))

(defun remote-act (title &optional line)
  (setq remote-choice title remote-asked nil)
  (remote-go (or line 0) 0)
  (condition-case _ (call-interactively #'eglot-code-actions) (quit nil))
  nil)
(defun remote-begin (title)
  "The same, after the answer to this order: Emacs waits for what it asks."
  (run-at-time 0 nil (lambda () (with-current-buffer (window-buffer) (ignore-errors (remote-act title)))))
  nil)
(defun remote-choose (title) (setq remote-choice title remote-asked nil) nil)
(defun remote-asked () (vconcat (reverse remote-asked)))
(defun remote-command (name arguments)
  (eglot-execute-command (eglot-current-server) (intern name) arguments)
  nil)
(defun remote-messages () (vconcat (reverse (mapcar #'substring-no-properties remote-messages))))
(defun remote-seen () (mapconcat #'identity (append (remote-paths) (remote-messages) nil) "\n"))
(defun remote-ex (command) (call-interactively (intern command)) "")
(defun remote-eval (expression) (eval (car (read-from-string expression)) t))
(defun remote-log ()
  (mapconcat (lambda (buffer)
               (if (string-match-p "EGLOT" (buffer-name buffer)) (with-current-buffer buffer (buffer-string)) ""))
             (buffer-list) "\n"))
(defun remote-quit () (run-at-time 0 nil #'kill-emacs) nil)

(defun remote-obey (link line)
  (let* ((order (json-parse-string line :object-type 'plist :null-object nil :false-object :json-false))
         (verb (intern (concat "remote-" (plist-get order :verb))))
         (answer (condition-case failure
                     (list :value (with-current-buffer (window-buffer)
                                    (apply verb (append (plist-get order :arguments) nil))))
                   ((error quit) (list :error (error-message-string failure))))))
    (with-current-buffer (window-buffer) (run-hooks 'post-command-hook))
    (process-send-string link (concat (json-serialize answer :null-object nil :false-object :json-false) "\n"))))

(let ((link (make-network-process
             :name "remote" :family 'local :service (getenv "ABEY_TEST_SOCKET") :coding 'utf-8-unix
             :filter (lambda (_ chunk)
                       (setq remote-buffered (concat remote-buffered chunk))
                       (while (string-match "\n" remote-buffered)
                         (setq remote-lines
                               (append remote-lines (list (substring remote-buffered 0 (match-beginning 0))))
                               remote-buffered (substring remote-buffered (match-end 0)))))
             :sentinel (lambda (&rest _) (kill-emacs)))))
  (while t
    (if remote-lines (remote-obey link (pop remote-lines))
      (condition-case nil (accept-process-output nil 0.05) (quit nil)))))

;;; emacs.el ends here

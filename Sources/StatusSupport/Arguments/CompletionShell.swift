// SPDX-License-Identifier: Apache-2.0

/// A shell for which a program writes a completion script.
///
/// Each script runs the program with `--complete -- WORD…`. The program prints the candidates for the last word, one
/// line each, with a description after a tab. If file names are expected, it prints the single line `files`.
enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    func script(for program: String) -> String {
        switch self {
        case .bash:
            """
            # bash completion for \(program)
            _\(program)() {
                local word cur quoted found breaks words=() line=${COMP_LINE:0:COMP_POINT} marks=$'["\\'\\\\\\\\]'
                # Bash also divides words at “:”, “@” and “=”, which may be parts of a server's name.
                for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
                    if [[ ${#words[@]} == 0 || $line == [[:space:]]* ]]; then words+=(""); fi
                    line=${line#"${line%%[![:space:]]*}"}
                    words[${#words[@]}-1]+=${line:0:${#word}}
                    line=${line:${#word}}
                done
                cur=${words[${#words[@]}-1]}
                # Quotes are no part of a name; Bash does not divide words in them.
                quoted=$cur words=("${words[@]//$marks/}")
                cur=${words[${#words[@]}-1]}
                found=$(\(program) --complete -- "${words[@]:1}" 2>/dev/null)
                COMPREPLY=()
                if [ "$found" = files ]; then compopt -o default; return; fi
                if [ -n "$found" ]; then mapfile -t COMPREPLY < <(cut -f1 <<<"$found"); fi
                # Readline replaces what follows the last of them, and “@” itself.
                breaks=${COMP_WORDBREAKS//[^:@=]/}
                if [ "$quoted" != "$cur" ]; then
                    word=${COMP_WORDS[COMP_CWORD]//$marks/}
                    COMPREPLY=("${COMPREPLY[@]#"${cur%"$word"}"}")
                elif [ -n "$breaks" ]; then
                    word=${cur##*["$breaks"]}
                    if [[ $cur == *@"$word" && $breaks == *@* ]]; then word=@$word; fi
                    COMPREPLY=("${COMPREPLY[@]#"${cur%"$word"}"}")
                fi
            }
            complete -F _\(program) \(program)
            """
        case .zsh:
            """
            #compdef \(program)
            # zsh completion for \(program)
            _\(program)() {
                local -a candidates
                local line found="$(\(program) --complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"
                if [[ $found == files ]]; then _files; return; fi
                for line in ${(f)found}; do
                    candidates+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
                done
                _describe '\(program)' candidates
            }
            if [ "$funcstack[1]" = "_\(program)" ]; then _\(program); else compdef _\(program) \(program); fi
            """
        case .fish:
            """
            # fish completion for \(program)
            function __\(program)_complete
                set -l found (\(program) --complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
                if test "$found" = files
                    __fish_complete_path (commandline -ct)
                else
                    printf '%s\\n' $found
                end
            end
            complete -c \(program) -f -a '(__\(program)_complete)'
            """
        }
    }
}

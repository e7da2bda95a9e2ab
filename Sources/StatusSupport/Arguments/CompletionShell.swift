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
                local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur found
                if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : cur words cword; fi
                found=$(\(program) --complete -- "${words[@]:1:cword}" 2>/dev/null)
                COMPREPLY=()
                if [ "$found" = files ]; then compopt -o default; return; fi
                if [ -n "$found" ]; then mapfile -t COMPREPLY < <(cut -f1 <<<"$found"); fi
                if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$cur"; fi
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

// SPDX-License-Identifier: Apache-2.0

/// A shell for which a program writes a completion script.
///
/// Each script calls the program with `--complete -- WORD…`. The program prints the candidates for the last word, one line each,
/// with the description after a tab.
enum CompletionShell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script that the shell reads.
    func script(for program: String) -> String {
        switch self {
        case .bash:
            """
            # bash completion for \(program)
            _\(program)() {
                local IFS=$'\\n' current=${COMP_WORDS[COMP_CWORD]}
                if declare -F _get_comp_words_by_ref >/dev/null; then
                    local words cword cur
                    _get_comp_words_by_ref -n : cur words cword
                    COMPREPLY=($(\(program) --complete -- "${words[@]:1:cword}" 2>/dev/null | cut -f1))
                    __ltrim_colon_completions "$cur"
                else
                    COMPREPLY=($(\(program) --complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
                fi
            }
            complete -o default -F _\(program) \(program)
            """
        case .zsh:
            """
            #compdef \(program)
            # zsh completion for \(program)
            _\(program)() {
                local -a candidates
                local line
                for line in ${(f)"$(\(program) --complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
                    candidates+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
                done
                if (( $#candidates )); then _describe '\(program)' candidates; else _files; fi
            }
            if [ "$funcstack[1]" = "_\(program)" ]; then _\(program); else compdef _\(program) \(program); fi
            """
        case .fish:
            """
            # fish completion for \(program)
            complete -c \(program) -f -a '(\(program) --complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
            """
        }
    }
}

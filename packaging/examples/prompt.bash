# bash: the selected server of statusd in the prompt, while it is not ok or the daemon does not answer.
# Add these lines to ~/.bashrc, after the lines that set PS1. A daemon that does not answer delays a prompt by at most
# 0.5 s.
statusd_prompt() {
    local line status=$?
    line=$(timeout 0.5 statusctl status --format '[{name}: {level}] ' 2>/dev/null)
    case $? in
        3) printf %s "$line" ;;
        # timeout ends with 124, and statusctl with 69 if it cannot reach the daemon.
        69 | 124) printf '[statusd is away] ' ;;
    esac
    # The rest of the prompt may show the exit status of the last command.
    return $status
}
PS1='$(statusd_prompt)'$PS1

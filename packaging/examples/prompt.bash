# bash: the selected server of statusd in the prompt, while it is not ok.
# Add these lines to ~/.bashrc, after what sets PS1. A daemon that does not answer delays no prompt for longer than half a second.
statusd_prompt() {
    local line
    line=$(timeout 0.5 statusctl status --format '[{name}: {level}] ' 2>/dev/null)
    [ $? = 3 ] && printf %s "$line"
}
PS1='$(statusd_prompt)'$PS1

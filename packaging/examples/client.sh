#!/bin/sh
# Follows the selected server with statusctl and jq, and continues when the daemon restarts:
#     sh client.sh
statusctl list --json | jq -r '.servers[] | "known: \(.name)"'
# A stream of events: first the current state, then each change, and each new selection with its whole state.
statusctl watch --json |
    jq --unbuffered -r 'select(.kind == "snapshot" or .kind == "selected" or .kind == "changed") | .server // empty
        | "\(.name) \(.status.level // "none") \(.status.text // "")"'

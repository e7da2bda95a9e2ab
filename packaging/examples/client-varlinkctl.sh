#!/bin/sh
# Follows the selected server with systemd's own Varlink client (varlinkctl(1), from systemd 255) and jq:
#     sh client-varlinkctl.sh [ADDRESS]
address=${1:-unix:/run/statusd/org.statusd.monitor}

varlinkctl call --json=short "$address" org.statusd.monitor.List '{}' | jq -r '.servers[] | "known: \(.name)"'
# A stream of events: first the current state, then each change, and each new selection with its whole state.
# Before each, varlinkctl writes a record separator (RFC 7464), which sed removes.
varlinkctl call --more --json=short "$address" org.statusd.monitor.Watch '{}' |
    sed -u 's/^\x1e//' |
    jq --unbuffered -r '.event | select(.kind == "snapshot" or .kind == "selected" or .kind == "changed")
        | .server // empty | "\(.name) \(.status.level // "none") \(.status.text // "")"'

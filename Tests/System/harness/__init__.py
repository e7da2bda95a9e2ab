# SPDX-License-Identifier: Apache-2.0
"""What the system tests stand on: a daemon in a temporary directory, a service manager that records, a Varlink client,
assertions that are tried again instead of sleeps, and a runner that counts. The standard library only."""

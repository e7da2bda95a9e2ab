# SPDX-License-Identifier: Apache-2.0
"""The base of the system tests: a daemon in a temporary directory, a service manager that records, a Varlink client,
assertions that are retried instead of sleeping, and a runner that counts. It uses only the standard library."""

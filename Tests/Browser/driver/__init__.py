# SPDX-License-Identifier: Apache-2.0
"""What the browser tests need: browsers, a stage, and the page as a person has it."""

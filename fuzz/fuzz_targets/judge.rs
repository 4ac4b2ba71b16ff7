#![no_main]

acp_conformance_fuzz::target!(judge);

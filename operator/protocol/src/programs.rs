//! The programs of agents: what they are called, from which version on they are driven, and how an image gets them.

use std::fmt;

/// A version, as far as versions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// One program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name on `PATH`, unless a Runtime's `command` says another.
    pub name: &'static str,
    /// Versions before this one are not driven.
    pub lowest: Option<Version>,
    /// What puts a version that is driven into an image, where that is one line.
    pub install: Option<&'static str>,
    /// It is known to answer `--version` with its version and the exit code 0.
    pub tells_version: bool,
}

/// Of the others it is known what they are called: as the provider. They are asked for their version, and need not answer.
const KNOWN: &[(&str, Program)] = &[
    (
        "claude",
        Program {
            lowest: Some(Version(2, 0, 0)),
            install: Some("npm install --global @anthropic-ai/claude-code@2.1.332"),
            ..told("claude")
        },
    ),
    (
        "codex",
        Program {
            lowest: Some(Version(0, 100, 0)),
            install: Some("npm install --global @openai/codex@0.171.0"),
            ..told("codex")
        },
    ),
    (
        "pi",
        Program {
            install: Some("npm install --global @earendil-works/pi-coding-agent@1.6.0"),
            ..told("pi")
        },
    ),
    (
        "qwen",
        Program {
            lowest: Some(Version(0, 20, 0)),
            install: Some("npm install --global @qwen-code/qwen-code@0.24.4"),
            ..told("qwen")
        },
    ),
    (
        "opencode",
        Program {
            // 1.3.2 knows no flag that grants permissions; this is the first that was seen to.
            lowest: Some(Version(1, 14, 34)),
            install: Some("npm install --global opencode-ai@1.18.33"),
            ..told("opencode")
        },
    ),
    (
        "copilot",
        Program {
            lowest: Some(Version(1, 0, 0)),
            install: Some("npm install --global @github/copilot@1.0.102"),
            ..told("copilot")
        },
    ),
    (
        "claude-agent-acp",
        Program {
            install: Some("npm install --global @agentclientprotocol/claude-agent-acp@0.101.0"),
            ..told("claude-agent-acp")
        },
    ),
    (
        "codex-acp",
        Program {
            install: Some("npm install --global @agentclientprotocol/codex-acp@2.6.0"),
            ..told("codex-acp")
        },
    ),
    (
        "gemini",
        Program {
            install: Some("npm install --global @google/gemini-cli@0.61.0"),
            ..asked("gemini")
        },
    ),
    (
        "kimi",
        Program {
            // Earlier ones run commands by a terminal of their client alone, and each of them would fail.
            lowest: Some(Version(2, 0, 0)),
            install: Some("npm install --global @moonshot-ai/kimi-code@2.1.0"),
            ..asked("kimi")
        },
    ),
    (
        "vibe",
        Program {
            install: Some("pip install mistral-vibe==3.0.2"),
            ..asked("vibe-acp")
        },
    ),
    (
        "openclaw",
        Program {
            lowest: Some(Version(2026, 5, 5)),
            install: Some("npm install --global openclaw@2026.9.6"),
            ..asked("openclaw")
        },
    ),
    (
        "hermes",
        Program {
            install: Some("pip install 'hermes-agent[acp,mcp]==0.19.0'"),
            ..told("hermes")
        },
    ),
    (
        "reasonix",
        Program {
            install: Some("npm install --global reasonix@1.38.11"),
            ..told("reasonix")
        },
    ),
    (
        "qwenpaw",
        Program {
            install: Some("pip install qwenpaw==2.2.2.post1"),
            ..told("qwenpaw")
        },
    ),
    (
        "omp",
        Program {
            // It is made for Bun.
            install: Some("npm install --global @oh-my-pi/pi-coding-agent@18.2.0 bun@1.4.5"),
            ..told("omp")
        },
    ),
    (
        "codebuddy",
        Program {
            // It is published inside this package alone, which puts nothing on PATH.
            install: Some(
                "npm install --global @tencent-ai/agent-sdk@0.3.201 && \
                 ln -s \"$(npm root --global)/@tencent-ai/agent-sdk/cli/bin/codebuddy\" /usr/local/bin/codebuddy",
            ),
            ..told("codebuddy")
        },
    ),
    (
        "qoder",
        Program {
            install: Some("npm install --global @qoder-ai/qodercli@1.1.52"),
            ..told("qodercli")
        },
    ),
    ("cursor", asked("cursor-agent")),
    ("kiro", asked("kiro-cli")),
    ("antigravity", asked("agy")),
    (
        "grok",
        Program {
            lowest: Some(Version(0, 2, 89)),
            ..asked("grok")
        },
    ),
    (
        "dim",
        Program {
            lowest: Some(Version(0, 3, 10)),
            ..asked("dim")
        },
    ),
    (
        "mcode",
        Program {
            lowest: Some(Version(0, 1, 2)),
            ..asked("mcode")
        },
    ),
    (
        "zeroclaw",
        Program {
            lowest: Some(Version(0, 8, 0)),
            ..asked("zeroclaw")
        },
    ),
];

const fn told(name: &'static str) -> Program {
    Program {
        name,
        lowest: None,
        install: None,
        tells_version: true,
    }
}

const fn asked(name: &'static str) -> Program {
    Program {
        tells_version: false,
        ..told(name)
    }
}

/// The program of this provider.
#[must_use]
pub fn of(provider: &'static str) -> Program {
    let known = KNOWN.iter().find(|(id, _)| *id == provider);
    known.map_or(asked(provider), |(_, program)| *program)
}

/// The first version in what a program printed: three numbers with points between them. Wrappers print other lines first.
#[must_use]
pub fn version_in(printed: &str) -> Option<Version> {
    printed
        .split(|each: char| !(each.is_ascii_digit() || each == '.'))
        .find_map(version)
}

fn version(word: &str) -> Option<Version> {
    let mut parts = word.trim_matches('.').split('.').map(str::parse::<u32>);
    let mut next = || parts.next()?.ok();
    Some(Version(next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (printed, found) in [
            ("2.1.332 (Claude Code)\n", Some(Version(2, 1, 332))),
            ("codex-cli 0.171.0\n", Some(Version(0, 171, 0))),
            ("opencode v2.0.18", Some(Version(2, 0, 18))),
            ("a banner of 2026\n1.18.33\n", Some(Version(1, 18, 33))),
            ("GitHub Copilot CLI 1.0.102.\n", Some(Version(1, 0, 102))),
            ("1.0.2-beta.1", Some(Version(1, 0, 2))),
            ("1.0", None),
            ("99999999999.0.0", None),
            ("no version", None),
            ("", None),
        ] {
            assert_eq!(version_in(printed), found, "{printed:?}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(Version(0, 100, 0) > Version(0, 99, 9));
        assert!(Version(1, 18, 9) < Version(1, 18, 33));
        assert_eq!(
            of("claude")
                .lowest
                .map(|lowest| lowest.to_string())
                .as_deref(),
            Some("2.0.0")
        );
    }

    #[test]
    fn what_is_known_not_to_work_is_not_driven() {
        for (provider, not, driven) in [
            ("opencode", Version(1, 3, 2), Version(1, 14, 34)),
            ("kimi", Version(0, 37, 2), Version(2, 1, 0)),
            ("openclaw", Version(2026, 5, 4), Version(2026, 9, 6)),
        ] {
            let lowest = of(provider).lowest;
            assert!(lowest > Some(not) && lowest <= Some(driven), "{provider}");
        }
    }

    #[test]
    fn what_is_not_known_is_called_as_its_provider() {
        assert_eq!(of("traecli"), asked("traecli"));
    }
}

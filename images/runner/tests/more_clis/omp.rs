//! omp.

use crate::catalog::asked_for;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::turns::counted;
use crate::whole::through_the_runner;

/// The provider is given in the program's own files.
const OMP: Cli = Cli {
    id: "omp",
    args: &["--model", "scripted/scripted-1"],
    env: &[],
    files: &[(
        ".omp/agent/models.yml",
        "providers:\n  scripted:\n    baseUrl: http://127.0.0.1:8080/v1\n    apiKey: any\n    api: openai-completions\n    models:\n      - id: scripted-1\n        name: Scripted\n        reasoning: true\n        input: [text]\n        contextWindow: 128000\n        maxTokens: 8192\n        cost: {input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0}\n",
    )],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: false,
};

// A provider that fails is tried again for longer than a test waits; its recordings show the classes.
scenarios!(OMP:
    it_answers
    it_thinks_before_it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
    its_skills_are_known_to_it
);
scenarios!(OMP: the_model_is_told_how_much_to_think);
through_the_runner!(OMP);
counted!(OMP);
asked_for!(OMP);

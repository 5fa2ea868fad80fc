// Package policies returns policies by name: those of other systems and promptree's own. Each has its own package,
// whose documentation says what the system does and where the policy differs.
//
// The parts in which the policies differ, made from their values; sizes are in tokens, "-" is none, and "if it pays" means
// once carrying has cost what is saved:
//
//	                  a3s          copilot-chat        copilot-cli              frugal           oh-my-pi        stagewise
//	the use is        reported     larger              counted                  larger           reported        reported
//	of                window       largest prompt      largest prompt           window           window          window
//	compacts at       80%          80%, 90% cold       80%                      if it pays, 80%  all but 16,384  65%, 200,000
//	meanwhile         agent waits  agent goes on       agent goes on            agent goes on    agent waits     agent goes on
//	waits from        -            -                   95%                      -                -               -
//	drops below       -            65%                 -                        -                -               -
//	a refusal         -            -                   compacts                 compacts         compacts        -
//	a smaller model   -            -                   compacts                 -                -               -
//	little memory     -            -                   compacts                 -                -               -
//	clears output     first        -                   -                        if it pays       always          -
//	but the newest    40,000       -                   -                        8,000            40,000          -
//	keeps history of  -            1 round             1 round                  12% or 8,000     20,000          20% or 40,000
//	or messages       2 + 20       -                   -                        -                -               10
//	asks in mode      turns        fork, full, simple  conversation-compaction  fork, simple     handoff         briefing
//	asks first        the agent's  the agent's         the agent's              the cheapest     the agent's     3 small models
//	requests          1            1                   1                        1                4               1
//	temperature       -            0                   -                        -                -               0.1
//	summary, at most  10,000       10,000              10,000                   4,000            10,000          20,000
//	checkpoints       -            -                   written                  -                -               -
//	goes on with      -            -                   -                        -                a message       -
//	last resort       error        drop                truncate                 truncate         error           error
//
// What the model is asked for:
//
//	copilotchat  a handoff, first at the end of the request that the cache has
//	copilotcli   an account under a title
//	a3s          what must still be known
//	stagewise    a briefing in prose, by a small model
//	frugal       notes, by the cheapest model
//	ohmypi       notes, brought up to date each time, and a list of files
//
// If nothing makes the prompt fit, a3s, stagewise and ohmypi return the error. With copilotchat, history is pruned from
// this request, the oldest rounds first. With copilotcli and frugal, the oldest messages are left out of this request.
//
// If the provider refuses a request as too large, copilotcli, frugal and ohmypi compact the session. The other
// policies, and these if that does not help, leave history out of this request, the oldest first.
package policies

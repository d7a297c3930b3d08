// Names that other tools gave to environment variables: which ones a launcher uses to tell a process its rank.
// core/comm/rank.cc reads the table; nothing else in core/ knows these names.
#pragma once

namespace tenon::compat {

// A text may list several variables with a space between: the first that is set counts.
struct Launcher {
  const char* id;     // as in TENON_LAUNCHER
  const char* title;  // what people call it
  bool per_pod;       // one process per pod: the weakest source
  const char* sign;   // set under this launcher
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* node;
  const char* address;
  const char* port;
  const char* job;
  const char* generation;
  const char* node_name;
};

// In the order of belief.
inline constexpr Launcher kLaunchers[] = {
    {"msrun", "msrun", false, "RANK_ID MS_ROLE", "RANK_ID MS_NODE_ID", "RANK_SIZE MS_WORKER_NUM",
     "LOCAL_RANK DEVICE_ID", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MS_SCHED_HOST", "MS_SCHED_PORT", "TENON_JOB_ID",
     "TENON_GENERATION", "TENON_NODE_NAME"},
    {"torchrun", "torchrun", false, "LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
     "GROUP_RANK NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID TENON_JOB_ID",
     "TORCHELASTIC_RESTART_COUNT", "TENON_NODE_NAME"},
    {"openmpi", "OpenMPI's mpirun", false, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "", "MASTER_ADDR", "MASTER_PORT",
     "PMIX_NAMESPACE OMPI_MCA_ess_base_jobid", "", "TENON_NODE_NAME"},
    {"slurm", "srun", false, "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS SLURM_NTASKS SLURM_NPROCS",
     "SLURM_LOCALID", "", "SLURM_NODEID", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_RESTART_COUNT",
     "TENON_NODE_NAME SLURMD_NODENAME"},
    {"mpich", "MPICH's mpiexec", false, "PMI_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "",
     "MASTER_ADDR", "MASTER_PORT", "TENON_JOB_ID", "", "TENON_NODE_NAME"},
    {"pod", "one process per pod (RANK, WORLD_SIZE)", true, "RANK", "RANK", "WORLD_SIZE", "", "", "RANK",
     "MASTER_ADDR", "MASTER_PORT", "TENON_JOB_ID", "", "TENON_NODE_NAME"},
    {"pod_pet", "one process per pod (PET_NODE_RANK, PET_NNODES)", true, "PET_NODE_RANK", "PET_NODE_RANK",
     "PET_NNODES", "", "", "PET_NODE_RANK", "PET_MASTER_ADDR MASTER_ADDR", "PET_MASTER_PORT MASTER_PORT",
     "TENON_JOB_ID", "", "TENON_NODE_NAME"},
    {"pod_index", "one process per pod (JOB_COMPLETION_INDEX, WORLD_SIZE)", true, "JOB_COMPLETION_INDEX",
     "JOB_COMPLETION_INDEX", "WORLD_SIZE", "", "", "JOB_COMPLETION_INDEX", "MASTER_ADDR", "MASTER_PORT",
     "TENON_JOB_ID", "", "TENON_NODE_NAME"},
};

// msrun: what a process of the job is, "MS_WORKER" or "MS_SCHED".
inline constexpr char kRole[] = "MS_ROLE";
inline constexpr char kRoleWorker[] = "MS_WORKER";
inline constexpr char kRoleScheduler[] = "MS_SCHED";

// torchrun: its own store listens on the port of the variables already.
inline constexpr char kAgentStore[] = "TORCHELASTIC_USE_AGENT_STORE";

// srun: what the table has no column for.
inline constexpr char kStepNodeList[] = "SLURM_STEP_NODELIST SLURM_NODELIST";
inline constexpr char kStepNodes[] = "SLURM_STEP_NUM_NODES SLURM_NNODES";
inline constexpr char kStepTasksPerNode[] = "SLURM_STEP_TASKS_PER_NODE SLURM_TASKS_PER_NODE";
inline constexpr char kStepId[] = "SLURM_STEP_ID";

// Processes that start the ranks of one node for launchers that do not name their job.
inline constexpr const char* kStarters[] = {"hydra_pmi_proxy"};

// Processes per pod that the operator of a training job asks for; more than one is the work of msrun in the pod.
inline constexpr char kPodProcesses[] = "PET_NPROC_PER_NODE";

// Index of a node inside a job of pods, as msrun's --node_rank.
inline constexpr const char* kNodeIndex[] = {"PET_NODE_RANK", "JOB_COMPLETION_INDEX", "RANK"};

// Time limits, in seconds.
inline constexpr char kTopologyTimeout[] = "MS_TOPO_TIMEOUT MS_CLUSTER_TIMEOUT";
inline constexpr char kNodeTimeout[] = "MS_NODE_TIMEOUT";
inline constexpr char kRetryTimeout[] = "MS_HEARTBEAT_RETRY_TIMEOUT";

// What msrun sets besides, for programs that were written for the original or for torchrun.
inline constexpr char kRankTable[] = "RANK_TABLE_FILE";
inline constexpr char kSimulation[] = "MS_SIMULATION_LEVEL";
struct Exported {
  const char* meaning;  // as core/launch/worker_environment.cc knows it
  const char* variables;
};
inline constexpr Exported kExported[] = {
    {"rank", "RANK_ID MS_NODE_ID RANK"},
    {"size", "RANK_SIZE MS_WORKER_NUM WORLD_SIZE"},
    {"local_rank", "DEVICE_ID LOCAL_RANK"},
    {"local_size", "LOCAL_WORLD_SIZE"},
    {"node", "GROUP_RANK"},
    {"address", "MS_SCHED_HOST MASTER_ADDR"},
    {"port", "MS_SCHED_PORT"},
    // A program written for torchrun lets rank 0 listen itself, beside the scheduler.
    {"next_port", "MASTER_PORT"},
    {"topology_timeout", "MS_TOPO_TIMEOUT"},
    {"job", "TENON_JOB_ID"},
    {"generation", "TENON_GENERATION TORCHELASTIC_RESTART_COUNT"},
    {"started", "TENON_JOB_STARTED"},
    {"max_restarts", "TORCHELASTIC_MAX_RESTARTS"},
};

// Address that a worker tells the others, where it has several.
inline constexpr char kOwnAddress[] = "MS_WORKER_IP";

}  // namespace tenon::compat

"""Every public name of tellapart 0.1, by module: each works, warns, or is on the page as gone."""

PUBLIC = {
    "tellapart": """
        attack BadScores Bound central_limit CentralLimit compose concentrated crossings
        CustomMechanism DiscreteGaussian DiscreteLaplace dominates dp_sgd
        dp_sgd_with_epsilon ExponentialMechanism from_densities from_dp_accounting
        from_dp_event from_json from_pmfs gap Gaussian guarantee InvalidArgument Laplace
        LimitReached matrix_mechanism MaxNoise Mechanism MechanismRegion MECHANISMS
        Neighbours NotCertified Order PermuteAndFlip PlanarLaplace plausibly_deniable
        PrivacyRegion Promise RandomizedResponse Rates renyi renyi_divergence Repeated
        ReportNoisyMax Sampled Sampling Sequence Staircase TellapartError to_dp_accounting
        to_json TradeoffCurve TrainingStopped TruncatedLaplace UnaryEncoding UniformNoise
        Unsupported worst_case
    """,
    "tellapart.audit": """
        attacks Band Basis canaries Counts Credible Design domains Entry epsilon_sequence
        Evidence Exposed exposure fewest_models Finding Fixed from_counts game_evidence
        Guessing intervals judge Ledger LowerBound many_runs MembershipGame Method Metrics
        metrics one_run Orientation Pairs Played Pool Prior probe probe_bits Program
        published Ranks Replaced Scores Search search Split step StepAudit StepPair
        Targets together training Tried Verdict Wager wealth
    """,
    "tellapart.audit.attacks": """
        Attack Described gradient_dot label_confidences Lira lira logits loss_threshold
        Rmia
    """,
    "tellapart.audit.canaries": "Canaries dirac_gradients mislabelled",
    "tellapart.audit.domains": "Answers Domain Examples Moves Numbers OneOf Tables Tallies",
    "tellapart.audit.game": "Design MembershipGame Pool Replaced Score Targets Train",
    "tellapart.audit.intervals": """
        berger_boos_epsilon box_epsilon buehler_epsilon buehler_p_value clopper_pearson
        clopper_pearson_epsilon delta_lower Forms gaussian_epsilon jeffreys_epsilon
        joint_beta_epsilon mu_lower Ranking score_epsilon
    """,
    "tellapart.choose": """
        at_least at_most Choice compare Comparison FROM_MODEL Frontier frontier
        FrontierRow Infeasible largest least Limit noise noise_table NoiseChoice NoiseRow
        NoiseTable Pair
    """,
    "tellapart.cli": "main",
    "tellapart.deadline": "check left within",
    "tellapart.deployments": """
        CAVEATS Deployment DEPLOYMENTS find Gain gains LEFT_OUT LeftOut SOURCE Variant
    """,
    "tellapart.fleet": "Architecture Canaries CNN DPSGD Fleet Linear MLP Recipe SGD train",
    "tellapart.plot": """
        audit compare deployments f_score frontier leakage noise panels precision_recall
        region_point regions roc save standings style styled tradeoff
    """,
    "tellapart.report": """
        DESIGNS DesignWords Input Item Made Meaning of page Question QUESTIONS Report
        Shown target Traced write
    """,
    "tellapart.reproduce": """
        Cell judge Reproduction run table_csv table_json table_one table_text Verdict
        verdicts
    """,
    "tellapart.risk": """
        advantage AttackPoint auc bayes_error best_decision epsilon f_score f_score_attack
        FScoreAttack gaussian_mu laplace_epsilon least_epsilon max_posterior posterior ppv
        precision rates_from_precision Reading success summary tpr words
    """,
    "tellapart.web": "address example free_port serve",
    "tellapart.worlds": """
        Adversary chain_epsilon_bound chain_log_mgf chain_scale_bound ChainSet Channel
        Coefficients coefficients described Exchangeable FiniteLaw FiniteModel fit_chain
        fit_table FittedChain FittedTable frameworks GaussianRecords ImpossibleSecret
        Independent interior_log_mgf JointTable Linear MarkovChain Mixing mixing NormalLaw
        one_vs_rest OneSided policies Predicate PriorRange Quilt quilt_scale
        quilt_scale_approximate RecordIn RecordValue SecretTest streams Sum
        table_epsilon_bound table_scale_bound TableSet tell_apart TreeNetwork Vector
        VectorLaw wasserstein Widest widest Witness
    """,
    "tellapart.worlds.described": "Described parse read Target",
    "tellapart.worlds.fitting": """
        chain_epsilon_bound chain_scale_bound ChainSet fit_chain fit_table FittedChain
        FittedTable table_epsilon_bound table_scale_bound TableSet
    """,
    "tellapart.worlds.frameworks": """
        approximate_dp approximate_group approximate_pufferfish as_table bayesian blowfish
        ByRecord Claim compare_frameworks Comparison Counterexample COUNTEREXAMPLES
        dependence_sensitivity dependent differential_privacy Example ghosh_kleinberg
        group_privacy inferential LeftOut membership membership_epsilon mutual_information
        Orderings orderings Pair pairwise_coefficient ProductPriors pufferfish
        pufferfish_by_record Side Standing Tally Verdict worst_curve
    """,
    "tellapart.worlds.models": """
        chain_log_mgf Exchangeable FiniteLaw FiniteModel GaussianRecords ImpossibleSecret
        Independent interior_log_mgf JointTable Linear MarkovChain NormalLaw Predicate
        RecordIn RecordValue Sum TreeNetwork Vector VectorLaw
    """,
    "tellapart.worlds.policies": """
        AttributeGraph CompleteGraph CumulativeHistogram DistanceGraph EdgeGraph Histogram
        KnownCount KnownMarginal PartitionGraph Policy Sensitivity
    """,
    "tellapart.worlds.quilts": "Mixing mixing Quilt quilt_scale quilt_scale_approximate",
    "tellapart.worlds.streams": """
        allocate budget carried_over Leakage leakage reversed_chain supremum zero_cells
        ZeroCell
    """,
    "tellapart.zoo": "buggy correct find Flaw Release Specimen SPECIMENS TRAINING Training",
}
